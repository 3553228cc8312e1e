export { newKey, useService, type Sent } from "./client";
export type { CommandName, EventName, OperationName, QueryName, RowTable, StreamType, Words } from "./names";
export { Problem, type Fact } from "./problems";
export { namesIn, useAllPages, useRead, useReads, type Read } from "./useRead";
export { useAction, type Action, type ActionState } from "./useAction";
export type { Answer, Arguments, DryRunAnswer, FeedEvent, NamedObject, Names, Parameters, PlannedEvent, RecordedEvent, Shape } from "./types";
export type { Move, Route } from "./routes.json";
export { routes } from "./routes";
