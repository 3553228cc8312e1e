export { commandsFrom, isFinal } from "./moves";
export { OperationForm, isOperation, OperationButton, OperationSheet, Remedies, type OperationButtonProps } from "./OperationButton";
export { OperationMenu } from "./OperationMenu";
export type { OperationFormProps } from "./useOperationForm";
export { usePick } from "./usePick";
