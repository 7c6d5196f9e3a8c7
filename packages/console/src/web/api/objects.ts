// SPDX-License-Identifier: Apache-2.0
// The fields of API objects that the page reads. The API server has checked their form; fields that are optional there
// are optional here.

export interface Condition {
  readonly type: string
  readonly status: "True" | "False" | "Unknown"
  readonly reason: string
  readonly message: string
  readonly lastTransitionTime?: string
  readonly observedGeneration?: number
}

export interface Metadata {
  readonly name: string
  readonly namespace?: string
  readonly uid?: string
  readonly generation?: number
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly resourceVersion?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

export interface ApiObject {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: Metadata
}

export interface Policy extends ApiObject {
  readonly spec?: Readonly<Record<string, unknown>>
  readonly status?: { readonly conditions?: readonly Condition[] }
}

export interface Pod extends ApiObject {
  readonly spec?: {
    readonly serviceAccountName?: string
    readonly containers?: readonly {
      readonly name: string
      readonly ports?: readonly { readonly containerPort: number; readonly name?: string }[]
    }[]
  }
  readonly status?: { readonly phase?: string; readonly podIP?: string; readonly conditions?: readonly Condition[] }
}

export interface List<T> {
  readonly metadata?: { readonly continue?: string; readonly remainingItemCount?: number }
  readonly items: readonly T[]
}

export function keyOf({ metadata }: ApiObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`
}

export function conditionOf(policy: Policy | undefined, type: string): Condition | undefined {
  return policy?.status?.conditions?.find(condition => condition.type === type)
}

/** The version of the user's part of an object. Status updates of the control plane do not change it. */
export function versionOf({ uid, generation, labels, annotations }: Metadata): string {
  return JSON.stringify([uid, generation, labels, annotations])
}
