// SPDX-License-Identifier: Apache-2.0
// Content negotiation: which of JSON, YAML and protobuf the client accepts, and whether it wants the object, a Table or
// only metadata. Clauses are tried in the client's order.

export type Media = "application/json" | "application/yaml" | "application/vnd.kubernetes.protobuf"

export interface Accepted {
  readonly media: Media
  /** The `as` parameter with its group and version. */
  readonly as?: { kind: string; group: string; version: string }
  readonly pretty: boolean
}

interface Clause {
  readonly type: string
  readonly params: ReadonlyMap<string, string>
  readonly q: number
}

const aliases: Record<string, Media> = {
  "application/json": "application/json",
  "application/yaml": "application/yaml",
  "application/vnd.kubernetes.protobuf": "application/vnd.kubernetes.protobuf",
  "application/*": "application/json",
  "*/*": "application/json",
}

function clauses(header: string): Clause[] {
  return header
    .split(",")
    .map(text => {
      const [type = "", ...params] = text.split(";").map(part => part.trim())
      const map = new Map(
        params.map(
          param => [param.slice(0, param.indexOf("=")).toLowerCase(), param.slice(param.indexOf("=") + 1)] as const,
        ),
      )
      const q = Number(map.get("q") ?? "1")
      return { type: type.toLowerCase(), params: map, q: Number.isNaN(q) ? 1 : q }
    })
    .filter(clause => clause.type !== "" && clause.q > 0)
    .sort((a, b) => b.q - a.q)
}

/** The forms that can be produced: a set, or any object with `has`. */
export interface Forms {
  has(form: string): boolean
}

export interface Offer {
  readonly media: readonly Media[]
  /** Supported forms as `kind.version.group`. */
  readonly forms: Forms
}

/**
 * Returns undefined if the client accepts nothing that can be offered. Protobuf is only for clients that accept nothing
 * else. Clients that prefer it accept JSON too, and every response is built as JSON first.
 */
export function negotiate(header: string | undefined, offer: Offer): Accepted | undefined {
  if (header === undefined || header.trim() === "")
    return { media: offer.media[0] ?? "application/json", pretty: false }
  const candidates: Accepted[] = []
  for (const { type, params } of clauses(header)) {
    const media = Object.hasOwn(aliases, type) ? aliases[type] : undefined
    if (media === undefined || !offer.media.includes(media)) continue
    const pretty = params.get("pretty") === "1" || params.get("pretty") === "true"
    const kind = params.get("as")
    const group = params.get("g") ?? ""
    const version = params.get("v") ?? ""
    if (kind === undefined) candidates.push({ media, pretty })
    else if (offer.forms.has(`${kind}.${version}.${group}`))
      candidates.push({ media, as: { kind, group, version }, pretty })
  }
  return candidates.find(({ media }) => media !== "application/vnd.kubernetes.protobuf") ?? candidates[0]
}

export const ALL_MEDIA: readonly Media[] = [
  "application/json",
  "application/yaml",
  "application/vnd.kubernetes.protobuf",
]
export const objectForms: ReadonlySet<string> = new Set(
  ["Table", "PartialObjectMetadata", "PartialObjectMetadataList"].flatMap(kind =>
    ["v1", "v1beta1"].map(version => `${kind}.${version}.meta.k8s.io`),
  ),
)
export const noForms: ReadonlySet<string> = new Set()
