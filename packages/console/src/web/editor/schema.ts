// SPDX-License-Identifier: Apache-2.0
// A kind's schema, as the API publishes it, and the part of it at a path.

export interface Schema {
  readonly type?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly enum?: readonly unknown[]
  readonly "x-kubernetes-group-version-kind"?: readonly { readonly kind?: string }[]
}

export interface OpenApi {
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> }
}

export function schemaOf({ components }: OpenApi, kind: string): Schema | undefined {
  return Object.values(components?.schemas ?? {}).find(schema =>
    schema["x-kubernetes-group-version-kind"]?.some(one => one.kind === kind),
  )
}

/** Lists are transparent: a path continues in their items. */
export function schemaAt(schema: Schema, path: readonly string[]): Schema | undefined {
  let at: Schema | undefined = schema
  for (const name of path) {
    while (at?.items !== undefined) at = at.items
    at = at?.properties?.[name]
  }
  while (at?.items !== undefined) at = at.items
  return at
}
