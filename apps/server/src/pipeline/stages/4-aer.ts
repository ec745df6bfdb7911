/** Stage 4, AER: the execution record, made only after every gate passed. */
export { aerSection as aer } from "@runseal/core/formulas/execution"
