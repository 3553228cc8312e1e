export { EVENTS, eventText, reasonIn, type EventText } from "./events";
export { fieldLabel, kindOfField } from "./fields";
export { OPERATIONS, operationOn, operationTitle, operationVerb } from "./operations";
export { markOf, markOfKind, STATES, stateText, TONES, type Mark, type StateSchema, type Tone } from "./states";
export { bytes, number, plural, quantity, unitSymbol } from "./units";
