export { FeedProvider, useEvents, useFeed } from "./FeedProvider";
export type { FeedStatus } from "./leader";
