/**
 * How each kind of document of a chain is sealed, but for records: its own hash, its leaf, and the document that its anchor completes. One
 * row a kind. docs/formats.md sections 7.8, 7.9 and 7.10.
 */
import { digest } from "@runseal/canonical"
import {
  ADMIN_EVENT_LEAF_VERSION,
  type AdminEvent,
  type AdminEventBody,
  type AdminEventLeaf,
} from "../artifacts/admin-event.ts"
import type { Anchor, ChainLeaf } from "../artifacts/anchor.ts"
import {
  APPROVAL_REQUEST_LEAF_VERSION,
  type ApprovalRequest,
  type ApprovalRequestBody,
  type ApprovalRequestLeaf,
} from "../artifacts/approval-request.ts"
import { OPENING_LEAF_VERSION, type Opening, type OpeningBody, type OpeningLeaf } from "../artifacts/opening.ts"
import {
  PERMIT_END_LEAF_VERSION,
  type PermitEnd,
  type PermitEndBody,
  type PermitEndLeaf,
} from "../artifacts/permit-end.ts"
import { type ChainPlace, sectionHashes } from "./leaves.ts"

/** @typeParam Body the document before its own hash and anchor */
export type ChainForm<Body, Leaf extends ChainLeaf, Document extends Body & Anchor<Leaf>> = {
  /** What the document's own hash must be. The own hash, leaf and entry of a whole document are left out. */
  readonly hash: (body: Body | Document) => string
  /** The leaf that anchors the document and its place in the chain. */
  readonly leaf: (body: Body, place: ChainPlace) => Leaf
  /** The anchored document. */
  readonly document: (body: Body, anchor: Anchor<Leaf>) => Document
}

/** Each section enters by its hash, so that a declared one can be withheld. */
export const OPENING_FORM: ChainForm<OpeningBody, OpeningLeaf, Opening> = {
  hash: opening => {
    const {
      opening_hash: _hash,
      leaf: _leaf,
      entry: _entry,
      sections,
      ...rest
    }: OpeningBody & Partial<Opening> = opening
    return digest({ ...rest, sections: sectionHashes(sections) })
  },
  leaf: (body, place) => ({
    leaf_version: OPENING_LEAF_VERSION,
    permit_id: body.permit_id,
    opening_hash: OPENING_FORM.hash(body),
    ...place,
  }),
  document: (body, { leaf, entry }) => ({ ...body, opening_hash: leaf.opening_hash, leaf, entry }),
}

/** As an opening: each section enters by its hash. */
export const APPROVAL_REQUEST_FORM: ChainForm<ApprovalRequestBody, ApprovalRequestLeaf, ApprovalRequest> = {
  hash: request => {
    const {
      request_hash: _hash,
      leaf: _leaf,
      entry: _entry,
      sections,
      ...rest
    }: ApprovalRequestBody & Partial<ApprovalRequest> = request
    return digest({ ...rest, sections: sectionHashes(sections) })
  },
  leaf: (body, place) => ({
    leaf_version: APPROVAL_REQUEST_LEAF_VERSION,
    approval_id: body.approval_id,
    request_hash: APPROVAL_REQUEST_FORM.hash(body),
    ...place,
  }),
  document: (body, { leaf, entry }) => ({ ...body, request_hash: leaf.request_hash, leaf, entry }),
}

export const PERMIT_END_FORM: ChainForm<PermitEndBody, PermitEndLeaf, PermitEnd> = {
  hash: end => {
    const { end_hash: _hash, leaf: _leaf, entry: _entry, ...rest }: PermitEndBody & Partial<PermitEnd> = end
    return digest(rest)
  },
  leaf: (body, place) => ({ leaf_version: PERMIT_END_LEAF_VERSION, end_hash: PERMIT_END_FORM.hash(body), ...place }),
  document: (body, { leaf, entry }) => ({ ...body, end_hash: leaf.end_hash, leaf, entry }),
}

/** In the deployment's own chain. */
export const ADMIN_EVENT_FORM: ChainForm<AdminEventBody, AdminEventLeaf, AdminEvent> = {
  hash: event => {
    const { event_hash: _hash, leaf: _leaf, entry: _entry, ...rest }: AdminEventBody & Partial<AdminEvent> = event
    return digest(rest)
  },
  leaf: (body, place) => ({
    leaf_version: ADMIN_EVENT_LEAF_VERSION,
    event_hash: ADMIN_EVENT_FORM.hash(body),
    ...place,
  }),
  document: (body, { leaf, entry }) => ({ ...body, event_hash: leaf.event_hash, leaf, entry }),
}
