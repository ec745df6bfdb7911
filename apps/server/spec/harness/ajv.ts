/** ajv and its formats: both are CommonJS, whose default export Node and the compiler see differently. */
import { createRequire } from "node:module"
import type { Ajv2020 as Ajv2020Class } from "ajv/dist/2020.js"
import type { FormatsPlugin } from "ajv-formats"

const require = createRequire(import.meta.url)
export const Ajv2020: typeof Ajv2020Class = require("ajv/dist/2020.js").Ajv2020
export const addFormats: FormatsPlugin = require("ajv-formats").default
