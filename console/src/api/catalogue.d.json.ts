import type { OperationName, StreamType } from "./names";

/** A JSON Schema as the service describes its fields. */
export interface Schema {
  $ref?: string;
  type?: string;
  format?: string;
  title?: string;
  description?: string;
  default?: unknown;
  const?: unknown;
  enum?: string[];
  examples?: string[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  propertyNames?: Schema;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  pattern?: string;
}

/** An operation as a form is made from it. */
export interface Described {
  method: string;
  path: string;
  aggregate: StreamType;
  isCommand: boolean;
  summary: string;
  /** The noun and the verb on the command line: `run hold`. */
  commandLine: string;
  fields: Record<string, Schema>;
  required: string[];
  proposable?: true;
}

export interface Catalogue {
  operations: Record<OperationName, Described>;
  schemas: Record<string, Schema>;
}

declare const catalogue: Catalogue;
export default catalogue;
