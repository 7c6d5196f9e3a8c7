// SPDX-License-Identifier: Apache-2.0
// Chooses which key sets are fetched if there are more than slots. Each namespace has a quota, and slots are assigned
// round robin by namespace: a namespace with a thousand dead issuers takes slots only from itself.

export interface Shares {
  readonly admitted: ReadonlySet<string>
  /** The reason by id of a key set that is not fetched. */
  readonly rejected: ReadonlyMap<string, string>
}

export interface ShareLimits {
  readonly total: number
  readonly perNamespace: number
  /** Has no quota, because its operators are those of the mesh. */
  readonly rootNamespace: string
}

/** `wanted`: ids by namespace, in the namespace's order of preference. */
export function shareKeySets(
  wanted: ReadonlyMap<string, Iterable<string>>,
  { total, perNamespace, rootNamespace }: ShareLimits,
): Shares {
  const admitted = new Set<string>()
  const rejected = new Map<string, string>()
  const queues: string[][] = []
  for (const [namespace, ids] of wanted) {
    const all = [...new Set(ids)]
    const quota = namespace === rootNamespace ? all.length : perNamespace
    queues.push(all.slice(0, quota))
    const error = `the namespace \`${namespace}\` uses more than ${perNamespace} key sets; remove rules, or ask an operator to raise the quota`
    for (const id of all.slice(quota)) rejected.set(id, error)
  }
  for (let turn = 0; queues.some(queue => turn < queue.length); turn++) {
    for (const queue of queues) {
      const id = queue[turn]
      if (id === undefined) continue
      if (admitted.has(id) || admitted.size < total) admitted.add(id)
      else rejected.set(id, `more than ${total} key sets are needed; remove rules, or raise the limit`)
    }
  }
  // A shared key set that is over one namespace's quota is fetched if another namespace has quota for it.
  for (const id of admitted) rejected.delete(id)
  return { admitted, rejected }
}
