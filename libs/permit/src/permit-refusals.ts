/** Why a permit does not allow an act: a closed list of codes, each with its sentence. */

export const PERMIT_REFUSALS = {
  missing: "The act needs a permit.",
  malformed: "The permit is no permit of this format.",
  wrong_algorithm: "The permit is signed with another algorithm than ES256.",
  wrong_type: "The token is of another type than a permit.",
  unknown_critical: "The permit's header demands what is not known here.",
  unknown_key: "The permit is signed with a key that is not one of the service's.",
  keys_unavailable: "The service's keys could not be read.",
  bad_signature: "The permit's signature is not valid.",
  wrong_issuer: "The permit is of another service.",
  wrong_audience: "The permit is for somebody else.",
  wrong_tenant: "The permit is of another tenant.",
  not_yet_valid: "The permit is not valid yet.",
  expired: "The permit has expired.",
  wrong_payload: "The permit is for another payload.",
  wrong_route: "The permit is for another route.",
  wrong_program: "The permit is for another program.",
  observed: "The permit is of a decision that was only observed: a refusal would have stopped nothing.",
  opening_invalid: "The permit's opening does not verify.",
  opening_differs: "The permit's opening says something else than the permit.",
  approvals_missing:
    "The act needs approvals that persons signed with passkeys: send them in the header Runseal-Approvals.",
  approvals_insufficient:
    "The approvals that were shown are too few or too old, hold a rejection, or are not signed for this act with keys that are known here.",
  approvals_used: "The approvals were used for another act: ask for new ones.",
  redeem_required: "The permit must be redeemed, which is not done here.",
  already_redeemed: "The permit was redeemed before.",
  redeem_refused: "The service did not redeem the permit.",
  redeem_unavailable: "The service could not be asked to redeem the permit.",
} as const satisfies Readonly<Record<string, string>>

export type PermitRefusal = keyof typeof PERMIT_REFUSALS

/** A refusal: its code for programs, its sentence for people. Neither quotes the permit. */
export type RefusedPermit = { readonly ok: false; readonly reason: PermitRefusal; readonly message: string }

export const refused = (reason: PermitRefusal): RefusedPermit => ({
  ok: false,
  reason,
  message: PERMIT_REFUSALS[reason],
})
