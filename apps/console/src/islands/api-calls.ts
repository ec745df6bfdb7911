/** The page of the API: starts Swagger UI, and shows a call of each endpoint for the shell, for TypeScript and for Python. */
import { type JsonValue, parseStrictJson } from "@runseal/canonical"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { callSamples } from "../parts/call-samples.ts"

type React = {
  readonly createElement: (kind: unknown, props: object | null, ...children: readonly unknown[]) => unknown
}
/** What Swagger UI gives its plugins. */
type System = { readonly React: React; readonly specSelectors: { readonly specStr: () => string } }
type Operation = { readonly path: string; readonly method: string }

declare const SwaggerUIBundle: (options: object) => unknown

const dark = matchMedia("(prefers-color-scheme: dark)")
const followTheme = (): void => void document.documentElement.classList.toggle("dark-mode", dark.matches)
dark.addEventListener("change", followTheme)
followTheme()

/** The document as it was read last: each operation shows samples of it. */
let known: { readonly text: string; readonly document: JsonValue } | undefined

function operationOf(text: string, { path, method }: Operation): JsonValue | undefined {
  if (known?.text !== text) known = { text, document: parseStrictJson(text) }
  const { document: whole } = known
  const paths = isObject(whole) ? whole.paths : undefined
  const item = isObject(paths) ? paths[path] : undefined
  return isObject(item) ? item[method] : undefined
}

/** Above the answers of an operation. */
const samplesPlugin = () => ({
  wrapComponents: {
    responses:
      (Original: unknown, { React: { createElement }, specSelectors }: System) =>
      (props: Operation) => {
        const samples = callSamples(operationOf(specSelectors.specStr(), props), {
          ...props,
          base: `${new URL(".", location.href)}`,
        })
        const blocks = samples.map(({ language, text }) =>
          createElement(
            "details",
            { key: language },
            createElement("summary", null, language),
            createElement("pre", { className: "microlight", tabIndex: 0 }, createElement("code", null, text)),
          ),
        )
        const heading = createElement("h4", null, "Call it")
        return createElement(
          "div",
          null,
          createElement("div", { className: "samples" }, heading, blocks),
          createElement(Original, props),
        )
      },
  },
})

// Without a validator badge: it would send the address of this service to another host.
SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#api",
  deepLinking: true,
  validatorUrl: null,
  defaultModelsExpandDepth: 0,
  plugins: [samplesPlugin],
  onComplete: () => document.querySelector("#servers")?.setAttribute("aria-label", "Server"),
})
