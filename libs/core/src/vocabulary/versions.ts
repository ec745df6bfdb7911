/** Version markers of sealed documents. */

export const FORMULA_VERSION = "manifest.v1"
/** A record as it is sealed, stored and served. */
export const BUNDLE_KIND = "vfa.audit_bundle.v2"
/** The same record with every derived section written out. It has no seal of its own. */
export const BUNDLE_VIEW_KIND = "vfa.bundle_view.v1"
/**
 * The derivations that this release knows, oldest first; new runs name the last one. A derivation is all formulas, constants, sentences
 * and kernels by which sections follow from others. Once released it never changes.
 */
export const DERIVATIONS = ["vfa.derivation.v2"] as const
export type Derivation = (typeof DERIVATIONS)[number]
/** First line of an export: what the lines after it must be. */
export const EXPORT_KIND = "vfa.export.v2"
/** in-toto's Statement v1, the payload of the envelope around a run statement. */
export const IN_TOTO_STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
/** in-toto's media type of a Statement within a DSSE envelope. */
export const IN_TOTO_PAYLOAD_TYPE = "application/vnd.in-toto+json"
/** What a run statement's predicate is, as in-toto's tools name it. A name, which is compared and never fetched. */
export const RUN_STATEMENT_PREDICATE_TYPE = "urn:runseal:run-statement:v1"
/** The verifier engine's release, given beside verdicts. */
export const ENGINE_VERSION = "runseal-verify-1.0.0"

/** Evaluator releases: each names the rules that made a decision. */
export const EVALUATORS = {
  admission: "pepg-admission-1.1.0",
  pepg: "pepg-2.0.0",
  mcd: "mcd-1.0.0",
  ccv: "ccv-1.0.0",
  macc: "macc-1.0.0",
  aivp_t4: "aivp-t4-1.0.0",
} as const

/** Where records are anchored. */
export const LEDGER_BACKEND = "embedded"

/** Version of all six kernels: they are released together. */
export const KERNEL_VERSION = "kernels-1.1.0"

/** Pre-anchor leaf versions, oldest first; new runs write the last one. */
export const PRE_ANCHOR_LEAF_VERSIONS = ["vfa.leaf.v5", "vfa.leaf.v6", "vfa.leaf.v7"] as const
export type PreAnchorLeafVersion = (typeof PRE_ANCHOR_LEAF_VERSIONS)[number]
export const RECEIPT_LEAF_VERSIONS = ["vfa.receipt_anchor.v1", "vfa.receipt_anchor.v2"] as const
export type ReceiptLeafVersion = (typeof RECEIPT_LEAF_VERSIONS)[number]
export const COMPLETE_RECORD_LEAF_VERSION = "vfa.complete_record.v1"
export const ATTESTATION_LEAF_VERSION = "vfa.attestation.v1"
export const EXPORT_STATEMENT_LEAF_VERSION = "vfa.export_statement.v2"
export const REDEMPTION_LEAF_VERSION = "vfa.redemption_leaf.v1"
export const GENESIS_LEAF_VERSION = "vfa.genesis.v1"
export const KEY_CHANGE_LEAF_VERSION = "vfa.key_change.v1"
