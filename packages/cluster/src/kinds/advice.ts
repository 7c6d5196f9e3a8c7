// SPDX-License-Identifier: Apache-2.0
// Warnings for users who expect this cluster to do what only nodes and controllers do. They accompany the same answers
// that kube-apiserver gives, so that clients which compare answers see no difference.

/** In every piece of advice, so that it can be told from the warnings of a real kube-apiserver. */
export const IN_THIS_CLUSTER = "in this cluster"

export const noLogs = `no node runs Pods ${IN_THIS_CLUSTER}, so they have no logs; \`merlonctl logs\` shows what a workload of the local mesh has written`

export const noExec = `no node runs Pods ${IN_THIS_CLUSTER}, so there is nothing to reach into; \`merlonctl exec\` runs a program as a workload of the local mesh`
