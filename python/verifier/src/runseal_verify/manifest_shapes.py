"""Members of a manifest and of a partial manifest: docs/formats.md, chapter 6."""

from __future__ import annotations

from . import forms as f
from .forms import HASH, Form, array, constant, record

_IDENTITY: dict[str, Form] = {
    "EnvelopeID": f.ENVELOPE_ID,
    "EnvelopeHash": HASH,
    "SequenceID": f.SEQUENCE_ID,
    "TransportHash": HASH,
    "PayloadHash": HASH,
    "PolicyHash": HASH,
    "ExecutionRegion": f.REGION,
    "FormulaVersion": constant("manifest.v1"),
    "ManifestHash": HASH,
}
_CLOSE: dict[str, Form] = {"PermitHash": HASH, "ClosingHash": HASH}
_IDS = array(HASH, 6, 6)
_HASHES = (
    *("EpaHash", "EfaHash", "AerHash", "TranscriptHash", "HardwareAttestationHash", "LeakageBundleHash"),
    *("ZkspBindingHash", "MigrationTokenHash", "PoteProofHash", "FinalVfaHash", "ReplayFingerprint"),
    *("DseCommitmentHash", "TokOrderingHash", "DscFinalStateHash", "AllowTokenHash", "AivpReviewHash"),
    *("LedgerLogID", "LedgerLeafHash"),
)
MANIFEST = record(
    {
        **_IDENTITY,
        **{name: HASH for name in _HASHES},
        "ExecutionIDs": _IDS,
        "FormalVerifierStatus": constant("TRACE_VERIFIED"),
        "LogEntryID": f.decimal,
        "RegistryArtifactCount": f.COUNT,
        "IndependentVerified": f.boolean,
        "AivpOutcome": constant("release"),
        "AivpAdapterID": f.ADAPTER,
        "LedgerBackend": constant("embedded"),
    },
    {**_CLOSE, "AivpAiOutputHash": HASH},
)
PARTIAL_MANIFEST = record(
    {**_IDENTITY, "ReceiptHash": HASH},
    {
        **_CLOSE,
        "AllowTokenHash": HASH,
        "ExecutionIDs": _IDS,
        "EfaHash": HASH,
        "PepgOutcome": constant("deny"),
        "CcvOutcome": constant("halted"),
        "MaccOutcome": constant("halted"),
        "AivpT4Outcome": constant("halted"),
    },
)
