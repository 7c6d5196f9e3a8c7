// SPDX-License-Identifier: Apache-2.0
// A store's record about itself (`m`). It stays plain JSON with its checksum inside, so that every version can read the
// format number of a store it does not support. Format 1 had no checksums.

import { checksum, NO_OBJECTS, type Tally } from "./record.js"

export const META_KEY = "m"
export const FORMAT = 2
/** Without checksums. */
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

/** "damaged" if it is not what was written. */
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
