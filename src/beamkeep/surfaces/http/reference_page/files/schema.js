// Schemas as short texts that people read.

const LIMITS = [
  ["format", ""], ["minLength", "length ≥ "], ["maxLength", "length ≤ "], ["minimum", "≥ "],
  ["maximum", "≤ "], ["minItems", "items ≥ "], ["maxItems", "items ≤ "], ["pattern", "pattern "],
];
const DEEPEST = 6;

/** Return the readers of one OpenAPI document. */
export function reader(api) {
  function resolved(value) {
    while (value?.$ref) {
      value = value.$ref.slice(2).split("/").reduce((within, key) => within[key], api);
    }
    return value;
  }

  function limitsOf(schema) {
    const limits = LIMITS.filter(([key]) => schema[key] !== undefined);
    const words = limits.map(([key, word]) => word + schema[key]);
    return words.length ? ` (${words.join(", ")})` : "";
  }

  function typeOf(given, depth = 0) {
    const schema = resolved(given) ?? {};
    if (schema.enum) return schema.enum.map(value => JSON.stringify(value)).join(" | ");
    if (schema.const !== undefined) return JSON.stringify(schema.const);
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices) return choices.map(each => typeOf(each, depth)).join(" | ");
    if (schema.allOf) return schema.allOf.map(each => typeOf(each, depth)).join(" & ");
    if (schema.type === "array") {
      return `[ ${typeOf(schema.items ?? {}, depth)} ]${limitsOf(schema)}`;
    }
    if (schema.properties && depth < DEEPEST) return objectOf(schema, depth);
    if (schema.additionalProperties && schema.additionalProperties !== true) {
      return `{ name: ${typeOf(schema.additionalProperties, depth)} }`;
    }
    return (schema.type ?? "any") + limitsOf(schema);
  }

  function objectOf(schema, depth) {
    const pad = "  ".repeat(depth + 1);
    const required = new Set(schema.required);
    const lines = Object.entries(schema.properties).map(([name, each]) => {
      const remark = each.description ? `  // ${each.description}` : "";
      return `${pad}${name}${required.has(name) ? "" : "?"}: ${typeOf(each, depth + 1)}${remark}`;
    });
    return `{\n${lines.join("\n")}\n${"  ".repeat(depth)}}`;
  }

  return { resolved, typeOf };
}
