// SPDX-License-Identifier: Apache-2.0
// The store's metadata record (`m`). It is plain JSON that contains its checksum, so that every version can read the
// format number of a store it does not support. Format 1 had no checksums.

import { checksum, NO_OBJECTS, type Tally } from "./record.js"

export const META_KEY = "m"
export const FORMAT = 2
/** The format without checksums. */
export const FIRST_FORMAT = 1

export interface Meta {
  readonly format: number
  readonly revision: number
  readonly compacted: number
  readonly tally: Tally
}

export const EMPTY: Meta = { format: FORMAT, revision: 1, compacted: 0, tally: NO_OBJECTS }

export function metaText({ revision, compacted, tally }: Meta): string {
  const text = JSON.stringify({ format: FORMAT, revision, compacted, ...tally })
  return JSON.stringify({ ...JSON.parse(text), checksum: checksum(META_KEY, text) })
}

/** Returns "damaged" if the checksum or the content is invalid. */
export function readMeta(text: string): Meta | "damaged" {
  try {
    const { checksum: written, ...fields } = JSON.parse(text)
    const { format, revision, compacted, objects = 0, sum = 0 } = fields
    const meta = { format, revision, compacted, tally: { objects, sum } }
    if (written === undefined ? format !== FORMAT : written === checksum(META_KEY, JSON.stringify(fields))) return meta
    return "damaged"
  } catch {
    return "damaged"
  }
}
