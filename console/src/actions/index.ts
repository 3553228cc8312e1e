export { commandsFrom, isFinal } from "./moves";
export { isOperation, OperationButton, OperationSheet, type OperationButtonProps } from "./OperationButton";
export { OperationMenu } from "./OperationMenu";
export { Remedies, useOperationForm, type OperationFormProps } from "./OperationForm";
export { usePick } from "./usePick";
