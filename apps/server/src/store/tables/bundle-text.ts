/**
 * Sealed documents as they are stored: compressed by the service, because the same text costs a third more in the database's own
 * compression (decision 0116). The text that was hashed comes back byte for byte. The first byte names the form.
 */
import { constants, createZstdCompress, zstdCompressSync, zstdDecompressSync } from "node:zlib"
import { concatBytes, utf8Decode } from "@runseal/canonical"
import { StoreError } from "../driver/store-errors.ts"

/**
 * What stored bundles have in common, so that they are compressed to what is their own: member names, fixed words, the parts of
 * log entries that are the same for every key. It holds no value of any run, key or deployment.
 *
 * Rows in databases need exactly these bytes to be read, so they never change: another dictionary is another format byte
 * in bundle-text.ts.
 */
export const BUNDLE_DICTIONARY_2: Uint8Array = Buffer.from(
  [
    '"tenant_ordinal":}}},"error_message":"The reviewer could not be reached.","outcome_kind":"stage_error","atte',
    'station_gap_receipt":{"decision_reason_code":"ATTESTATION_GAP","evaluator_version":"pepg-admission-1.1.0","g',
    'ap_clock":"","missing_fields":[""],"required_fields":[""],"version":"vfa.attestation_gap_receipt.v1"},"error',
    '_message":"The policy requires attested fields that the request does not carry; the run was not admitted.","',
    'error_stage":"PEPG_ADMISSION","outcome_kind":"attestation_gap","decision_reason_code":"MCD_SIGNATURE_MATCH",',
    '"fired_rule_id":"MCD-PI-012","mcd_finding_hash":"","error_message":"Signature MCD-PI-012 matched in payload:',
    ' the run was denied before any kernel ran.","mcd_finding":{"category":"prompt_injection","finding_clock":"",',
    '"library_hash":"","matched_in":"payload","matched_signature_id":"","severity":"critical","text_fingerprint":',
    '"","version":"vfa.mcd_finding.v2"},"matched_rule_ids":[],"deny_receipt":{"decision_reason_code":"RULE_DENIED',
    '","deny_clock":"","fired_rule_id":"deny-transfer-without-two-approvers","version":"vfa.deny_receipt.v1"},"Pe',
    'pgOutcome":"deny","error_message":"The policy gate denied the run before any kernel ran.","error_stage":"PEP',
    'G","outcome_kind":"pepg_deny","performed":false,"required":true},"decision":"deny","matched_rule_ids":["deny',
    '-transfer-without-two-approvers"],"aivp_t4_halt_receipt":{"decision_kind":"halt","decision_reason":"PRIVATE_',
    'KEY_EXPOSED","halt_reason_code":"AIVP_T4_HALT","review_hash":"","version":"vfa.aivp_t4_halt.v1"},"AivpT4Outc',
    'ome":"halted","error_message":"The Tier-4 governance review did not release the AI output and the run was ha',
    'lted after its kernels.","error_stage":"AIVP_T4","outcome_kind":"aivp_t4_halt","rule_ids":["private-key"]},"',
    'hash":""}},"ccv_halt_receipt":{"constraint_type":"token_budget","consumed_at_halt":,"evaluator_version":"ccv',
    '-1.0.0","halt_reason_code":"TOKEN_BUDGET_EXCEEDED","partial_execution_hash":"","version":"vfa.ccv_halt.v1"},',
    '"CcvOutcome":"halted","error_message":"The run declared more tokens than the per-run budget allows and was h',
    'alted after its kernels.","error_stage":"CCV","outcome_kind":"ccv_halt","model_version":""},"target":""}],"p',
    'arent_run_id":,"related_runs":[0]},"model_ms":}},"receipt":{"leaf_version":"vfa.receipt_anchor.v2"}}},"deriv',
    'ed":{"efa":"","epa":"","leakage_bundle":"","transcript":"","transport":""},"macc_halt_receipt":{"allow_token',
    '_hash":"","anchor_required":true,"budget_hash":"","budget_limit":,"constraint_type":"cumulative_token_budget',
    '","cumulative_at_halt":,"evaluator_version":"macc-1.0.0","halt_clock":"","halt_reason_code":"CUMULATIVE_TOKE',
    'N_BUDGET_EXCEEDED","per_run_consumption":,"version":"vfa.macc_halt.v1","window_start":""},"partial_manifest"',
    ':{"MaccOutcome":"halted","ReceiptHash":"","TransportHash":""},"error_message":"The run took the tenant\'s cum',
    'ulative tokens to or beyond the window\'s cap and was halted after its kernels.","error_stage":"MACC","leaf_v',
    'ersion":"vfa.receipt_anchor.v2","outcome_kind":"macc_halt","model_name":""},"cap":100000,"window_seconds":31',
    '622400,"total_tokens":}},"AivpAiOutputHash":"","order":}],"review_outcome":""}},"ai_output_hash":"","decisio',
    'n_reason":"NO_FINDINGS","ai_output_bytes":,"gdpr":[""],"residency":[""]},"intended_use":""},"formulary":"","',
    'ward-assistant":""},"output":{"hash":""},"fired_rule_id":"baseline-permit","execution_region":"local","order',
    '":}]},"matched_rule_ids":["baseline-permit"],"policy_id":"runseal-baseline","policy_name":"Runseal baseline"',
    ',{"allow_token":{"allow_clock":"","decision_reason_code":"RULE_ALLOWED","envelope_id":"","evaluation_hash":"',
    '","evaluator_version":"pepg-1.1.0","fired_rule_id":"","hash":"","policy_hash":"","version":"vfa.allow_token.',
    'v1"},"anchors":{"complete_record":{"entry":{"canonicalizedBody":"eyJhcGlWZXJzaW9uIjoiMC4wLjEiLCJraW5kIjoiaGF',
    "zaGVkcmVrb3JkIiwic3BlYyI6eyJkYXRhIjp7Imhhc2giOnsiYWxnb3JpdGhtIjoic2hhMjU2IiwidmFsdWUiIn19LCJzaWduYXR1cmUiOns",
    "iY29udGVudCI6InB1YmxpY0tleSI6eyJjb250ZW50IjoiTFMwdExTMUNSVWRKVGlCUVZVSk1TVU1nUzBWWkxTMHRMUzBLVFVacmQwVjNXVWh",
    'MYjFwSmVtb3dRMEZSV1VsTGIxcEplbW93UkVGUlkwVDBLTFMwdExTMUZUa1FnVUZWQ1RFbERJRXRGV1MwdExTMHRDZz09In19fX0=","incl',
    'usionPromise":{"signedEntryTimestamp":""},"inclusionProof":{"checkpoint":{"envelope":""},"hashes":[""],"logI',
    'ndex":"","rootHash":"","treeSize":""},"integratedTime":"","kindVersion":{"kind":"hashedrekord","version":"0.',
    '0.1"},"logId":{"keyId":""},"logIndex":""},"leaf":{"leaf_version":"vfa.complete_record.v1","previous_record":',
    '"","tenant_ordinal":}},"pre_anchor":{"entry":{"canonicalizedBody":"eyJhcGlWZXJzaW9uIjoiMC4wLjEiLCJraW5kIjoia',
    "GFzaGVkcmVrb3JkIiwic3BlYyI6eyJkYXRhIjp7Imhhc2giOnsiYWxnb3JpdGhtIjoic2hhMjU2IiwidmFsdWUiIn19LCJzaWduYXR1cmUiO",
    "nsiY29udGVudCI6InB1YmxpY0tleSI6eyJjb250ZW50IjoiTFMwdExTMUNSVWRKVGlCUVZVSk1TVU1nUzBWWkxTMHRMUzBLVFVacmQwVjNXV",
    'WhMYjFwSmVtb3dRMEZSV1VsTGIxcEplbW93UkVGUlkwVDBLTFMwdExTMUZUa1FnVUZWQ1RFbERJRXRGV1MwdExTMHRDZz09In19fX0=","in',
    'clusionPromise":{"signedEntryTimestamp":""},"inclusionProof":{"checkpoint":{"envelope":""},"hashes":[""],"lo',
    'gIndex":"","rootHash":"","treeSize":""},"integratedTime":"","kindVersion":{"kind":"hashedrekord","version":"',
    '0.0.1"},"logId":{"keyId":""},"logIndex":""},"leaf":{"leaf_version":"vfa.leaf.v7"}}},"bundle_hash":"","kind":',
    '"vfa.audit_bundle.v2","manifest":{"AerHash":"","AivpAdapterID":"builtin-rules","AivpOutcome":"release","Aivp',
    'ReviewHash":"","AllowTokenHash":"","DscFinalStateHash":"","DseCommitmentHash":"","EfaHash":"","EnvelopeHash"',
    ':"","EnvelopeID":"","EpaHash":"","ExecutionIDs":[""],"ExecutionRegion":"","FinalVfaHash":"","FormalVerifierS',
    'tatus":"TRACE_VERIFIED","FormulaVersion":"manifest.v1","HardwareAttestationHash":"","IndependentVerified":tr',
    'ue,"LeakageBundleHash":"","LedgerBackend":"embedded","LedgerLeafHash":"","LedgerLogID":"","LogEntryID":"","M',
    'anifestHash":"","MigrationTokenHash":"","PayloadHash":"","PolicyHash":"","PoteProofHash":"","RegistryArtifac',
    'tCount":24,"ReplayFingerprint":"","SequenceID":"","TokOrderingHash":"","TranscriptHash":"","TransportHash":"',
    '","ZkspBindingHash":""},"run":{"created_at":"","derivation":"vfa.derivation.v1","duration_us":,"execution_re',
    'gion":"","formula_version":"manifest.v1","leaf_version":"vfa.leaf.v7","outcome_kind":"ok","program_id":"","r',
    'oute_id":"","run_id":,"tenant_id":"anonymous","tenant_salt":""},"sections":{"attested_context":{"declared":{',
    '"actor_id":"","actor_role":"","actor_signature":"","attested":true,"authorization_policy":"","decision_kind"',
    ':"","decision_note":"","decision_result":"","model_name":"","model_provider":"","model_temperature":,"model_',
    'version":"","prompt_hash":""},"hash":"","kind":"vfa.attested_context.v1","salt":""},"authorization_chain":{"',
    'declared":{"approvers":[{"actor_id":"","actor_role":"","approved_at":"","approved_request_hash":"","comment"',
    ':"","order":,"signature":""}],"delegation":{"from":"","limit":{"amount":,"currency":""},"to":"","valid_to":"',
    '"},"human_in_loop":{"performed":true,"performed_at":"","performed_by":"","required":true,"review_mode":"","r',
    'eview_outcome":""},"threshold_checks":[{"breached":false,"name":"","observed_value":,"operator":"","threshol',
    'd_value":,"unit":""}]},"hash":"","kind":"vfa.authorization_chain.v1","salt":""},"budget_snapshot":{"declared',
    '_tokens":,"envelope_id":"","hash":"","kind":"vfa.budget_snapshot.v1","run_limit":1000000,"tenant_id":"anonym',
    'ous","window":{"cap":10000000,"charge_id":"","tokens":,"total_after":,"window_seconds":86400,"window_start":',
    '""}},"causal_graph":{"declared":{"effect_log":[{"ack_hash":"","effect_kind":"","issued_at":"","status":"","t',
    'arget":""}]},"hash":"","kind":"vfa.causal_graph.v1","salt":""},"envelope":{"admission_clock":"","declared_se',
    'ctions_hash":"","envelope_id":"","execution_region":"","hash":"","kind":"vfa.envelope.v1","payload_hash":"",',
    '"program_id":"","registry_record_hash":"","route_id":"","run_nonce":"","tenant_id":"anonymous"},"governance_',
    'review":{"adapter_id":"builtin-rules","decision_kind":"release","decision_reason":"NO_AI_OUTPUT","envelope_i',
    'd":"","evaluator_version":"aivp-t4-1.0.0","finding_count":,"hash":"","kind":"vfa.governance_review.v1","revi',
    'ew_clock":"","rule_ids":[]},"payload":{"hash":"","kind":"vfa.payload.v1","payload_bytes":,"payload_hash":""}',
    ',"policy_evaluation":{"decision":"allow","decision_reason_code":"RULE_ALLOWED","envelope_id":"","evaluation_',
    'clock":"","evaluator_version":"pepg-1.1.0","fired_rule_id":"","hash":"","kind":"vfa.policy_evaluation.v2","m',
    'atched_rule_ids":["baseline-permit"],"policy_hash":"","policy_id":"runseal-baseline","policy_name":"Runseal ',
    'baseline","profile_tag":"","signature_library_hash":"","signature_scan":{"disabled":[],"mode":"enforce","sco',
    'pe":["payload","ai_output","declared"]}},"regulatory_scaffolding":{"declared":{"data_classification":{"confi',
    'dentiality":[""],"financial":[""]},"export_control":{"classification":""},"retention":{"basis":"","years":}}',
    ',"hash":"","kind":"vfa.regulatory_scaffolding.v1","salt":""},"reproducibility_context":{"declared":{"depende',
    'ncies":{"":"","":""},"platform":"","runtime":"","seeds":[0]},"hash":"","kind":"vfa.reproducibility_context.v',
    '1","salt":""},"request_substance":{"declared":{"authentication":{"scheme":"","subject":""},"cost":{"input_to',
    'kens":,"output_tokens":,"total_tokens":},"latency":{"model_ms":},"post_processing":{"steps":[""]},"prompt":{',
    '"hash":"","template_id":""}},"hash":"","kind":"vfa.request_substance.v1","origin":{"authentication":{"api_ke',
    'y_id":,"method":"anonymous"},"source_ip_hash":"","user_agent_hash":""},"salt":""},"system_provenance":{"disc',
    'losure":"Stated by the service about itself: no hardware or third party vouches for it.","hash":"","kind":"v',
    'fa.system_provenance.v1","ledger_backend":"embedded","mode":"software","orchestrator_version":"","platform":',
    '"","runtime":"node","runtime_version":"","service":"runseal","service_version":"","source_revision":""}}}',
  ].join(""),
)

/** Zstandard (RFC 8878) with dictionary 2. */
const ZSTD_2 = 2
/** The text itself: of an attestation that was stored before attestations were packed. */
const PLAIN = 0

/** Far more than a request of 1 MiB can become; a frame that claims more is damaged. */
const MAX_BUNDLE_BYTES = 64 * 1024 * 1024

/** Higher levels take twice the time for one byte in fifty; a wider window costs memory that is made ready each time. */
const COMPRESSION = {
  params: { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_windowLog]: 16 },
  dictionary: BUNDLE_DICTIONARY_2,
}
const EXPANSION = { dictionary: BUNDLE_DICTIONARY_2, maxOutputLength: MAX_BUNDLE_BYTES }

/**
 * A document's canonical text as the column `document.packed` holds it.
 * @param text or its UTF-8 bytes
 */
export function packBundle(text: string | Uint8Array): Uint8Array<ArrayBuffer> {
  return concatBytes(Uint8Array.of(ZSTD_2), zstdCompressSync(text, COMPRESSION))
}

/**
 * The same for many texts, with one compressor: each new one loads the dictionary, and what Node keeps of it lives until a full
 * collection, which then comes sooner. One that fails ends its thread, by an error event that nobody hears.
 */
export function openPacker(): (text: string | Uint8Array) => Promise<Uint8Array<ArrayBuffer>> {
  // With this flag each write is a frame of its own.
  const compressor = createZstdCompress({ ...COMPRESSION, flush: constants.ZSTD_e_end })
  let frame: Uint8Array[] = []
  compressor.on("data", (part: Uint8Array) => frame.push(part))
  return text =>
    new Promise((resolve, reject) => {
      // Writes are queued, and the callback is called when the whole frame was emitted.
      compressor.write(text, error => {
        if (error) return reject(error)
        const stored = concatBytes(Uint8Array.of(ZSTD_2), ...frame)
        frame = []
        resolve(stored)
      })
    })
}

/**
 * The text that was packed.
 * @throws StoreError "corrupt" for bytes that no release has written
 */
export function unpackBundle(stored: Uint8Array): string {
  const text = textOf(stored)
  if (text === undefined) throw new StoreError("corrupt")
  return text
}

function textOf(stored: Uint8Array): string | undefined {
  const [form] = stored
  const body = stored.subarray(1)
  if (form !== ZSTD_2 && form !== PLAIN) return undefined
  try {
    return utf8Decode(form === PLAIN ? body : zstdDecompressSync(body, EXPANSION))
  } catch {
    return undefined
  }
}
