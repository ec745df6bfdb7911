/** Stage 8, REGISTRY: name and hash of every artifact that exists before it. */
export { registrySection as registry } from "@runseal/core/formulas/manifest"
