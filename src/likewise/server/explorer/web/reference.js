// The reference of the API, from openapi.json.

import { ask } from "./api.js";
import { h, notice, waiting } from "./dom.js";

const GROUPS = [
  ["Search", /^\/v1\/(search|score|explain)/],
  ["Teach", /^\/v1\/(feedback|teach)/],
  ["Versions", /^\/v1\/models/],
  ["Items", /^\/v1\/items/],
  ["Explorer", /^\/v1\/explore/],
  ["Operations", /./],
];
const DEEPEST = 6;

async function show(place) {
  place.replaceChildren(waiting());
  try {
    const api = await ask("/openapi.json");
    const routes = Object.entries(api.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, what]) => ({ path, method, what })));
    const left = new Set(routes);
    place.replaceChildren(...GROUPS.map(([name, fits]) => {
      const own = [...left].filter(({ path }) => fits.test(path));
      for (const route of own) left.delete(route);
      return h("section", {}, h("h2", {}, name), own.map((route) => routeOf(route, api)));
    }));
  } catch (error) {
    place.replaceChildren(notice(
      error.message,
      { kind: "bad", action: "Try again", act: () => show(place) },
    ));
  }
}

function routeOf({ path, method, what }, api) {
  const answers = Object.entries(what.responses ?? {});
  const good = answers.filter(([status]) => status < "300");
  const refusals = answers.filter(([status]) => status >= "300").map(([status]) => status);
  return h("details", { class: "route" },
    h("summary", {},
      h("span", { class: `method ${method}` }, method.toUpperCase()),
      h("code", {}, path),
      h("span", {}, what.summary ?? ""),
    ),
    h("div", { class: "what" },
      what.description && h("p", {}, what.description),
      parameters(what.parameters ?? []),
      what.requestBody && body("Request", what.requestBody.content, api),
      good.map(([status, answer]) => body(`Response ${status}`, answer.content, api)),
      refusals.length > 0 && h("p", { class: "quiet" }, `Errors: ${refusals.join(", ")}.`)));
}

function parameters(given) {
  if (!given.length) return null;
  return h("div", { class: "scroll" }, h("table", {},
    h("thead", {},
      h("tr", {}, ["Parameter", "In", "Kind", "Default"].map((name) => h("th", { scope: "col" }, name))),
    ),
    h("tbody", {}, given.map(({ name, in: where, required, schema }) => h("tr", {},
      h("th", { scope: "row" },
        h("code", {}, name),
      ), h("td", {}, where), h("td", {}, h("code", {}, sketch(schema, {}))),
      h("td", {}, required ? "required" : h("code", {}, JSON.stringify(schema.default ?? null))))))));
}

function body(title, content, api) {
  const json = content?.["application/json"]?.schema;
  return h("div", {},
    h("h3", {}, title),
    json && Object.keys(json).length ? h("pre", { tabindex: "0" }, sketch(json, api)) : h("p", {},
      Object.keys(content ?? {}).join(", ") || "nothing",
    ),
  );
}

/** Return a sketch of the JSON that a schema describes. */
function sketch(schema, api, depth = 0) {
  if (!schema || depth > DEEPEST) return "…";
  if (schema.$ref) return sketch(api.components.schemas[schema.$ref.split("/").pop()], api, depth);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const either = schema.anyOf ?? schema.oneOf;
  if (either) return [...new Set(either.map((one) => sketch(one, api, depth)))].join(" | ");
  if (schema.type === "array") return `[${sketch(schema.items ?? schema.prefixItems?.[0], api, depth)}, …]`;
  if (schema.type !== "object") return schema.type ?? "any";
  const pad = "  ".repeat(depth + 1), needed = schema.required ?? [];
  const lines = Object.entries(schema.properties ?? {}).map(([name, part]) =>
    `${pad}${JSON.stringify(name)}${needed.includes(name) ? "" : "?"}: ${sketch(part, api, depth + 1)}`);
  return lines.length ? `{\n${lines.join(",\n")}\n${"  ".repeat(depth)}}` : "{…}";
}

show(document.getElementById("routes"));
