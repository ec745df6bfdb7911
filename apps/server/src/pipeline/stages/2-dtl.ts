/** Stage 2, DTL: the transport record of the envelope. */
export { transportSection as dtl } from "@runseal/core/formulas/pre-execution"
