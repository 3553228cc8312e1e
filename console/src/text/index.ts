export { eventText, reasonIn, type EventText } from "./events";
export { ENDINGS, type Ending } from "./endings";
export { abnormalFacts, factText, markOfFact, stateWord } from "./facts";
export { fieldLabel, kindOfField } from "./fields";
export { operationOn, operationTitle, operationVerb } from "./operations";
export { reasonText, refusalText, stepNumber } from "./steps";
export { markOf, markOfKind, STATES, stateText, TONES, type Mark, type StateSchema, type Tone } from "./states";
export { bytes, number, plainText, plural, quantity, unitSymbol } from "./units";
