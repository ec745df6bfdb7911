/** Stage 9, DLA: the final seal over every section. */
export { finalVfaSection as dla } from "@runseal/core/formulas/manifest"
