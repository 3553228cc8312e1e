/** What the console knows of operations, from the OpenAPI document of the service. */

/** Return the routes, the forms and the schemas of the operations that are wanted (default: of all). */
export function described(document, isWanted = () => true) {
  const { parameters: shared, schemas } = document.components;
  const routes = {};
  const operations = {};
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, each] of Object.entries(methods)) {
      if (!isWanted(each.operationId)) continue;
      const own = parametersOf(each, shared);
      const body = each.requestBody?.content["application/json"].schema;
      const place = { method: method.toUpperCase(), path, aggregate: each["x-beamkeep"]?.aggregate ?? each.tags[0] };
      routes[each.operationId] = routeOf(each, place, own, body);
      operations[each.operationId] = formOf(each, place, own, body);
    }
  }
  const used = [...namedIn(operations, schemas)].sort().map((name) => [name, schemas[name]]);
  return { routes, operations, schemas: Object.fromEntries(used) };
}

/** Return the parameters of an operation that are not headers, with shared ones in place. */
function parametersOf(each, shared) {
  const all = each.parameters.map((parameter) => (parameter.$ref ? shared[parameter.$ref.split("/").at(-1)] : parameter));
  return all.filter((parameter) => parameter.in !== "header" && parameter.name !== "dry_run");
}

function routeOf(each, place, own, body) {
  const { title = each.summary, moves, destructive, composed_of } = each["x-beamkeep"] ?? {};
  const route = { title, ...place };
  for (const flag of ["names", "as_of", "min_token"]) if (own.some(({ name }) => name === flag)) route[flag] = true;
  if (moves?.length) route.moves = moves;
  if (destructive) route.destructive = true;
  if (composed_of) route.composed_of = composed_of;
  const asked = Object.keys(body?.properties ?? {});
  if (place.method !== "GET" && asked.every((field) => field === "decided_by_decision_id")) route.bare = true;
  return route;
}

function formOf(each, place, own, body) {
  const fields = {};
  for (const { name, schema, description } of own) fields[name] = description ? { ...schema, description } : schema;
  return {
    ...place,
    isCommand: place.method !== "GET",
    summary: each.summary,
    commandLine: each["x-beamkeep"]?.command_line ?? "",
    fields: { ...fields, ...body?.properties },
    required: [...own.filter(({ required }) => required).map(({ name }) => name), ...(body?.required ?? [])],
    ...(each.parameters.some(({ $ref }) => $ref?.endsWith("/ProposalNote")) && { proposable: true }),
  };
}

/** Return the names of the schemas that a value refers to, directly or through others. */
function namedIn(value, schemas, found = new Set()) {
  if (Array.isArray(value)) for (const each of value) namedIn(each, schemas, found);
  else if (value && typeof value === "object") {
    const name = typeof value.$ref === "string" ? value.$ref.split("/").at(-1) : undefined;
    if (name && !found.has(name)) namedIn(schemas[name], schemas, found.add(name));
    for (const each of Object.values(value)) namedIn(each, schemas, found);
  }
  return found;
}
