// SPDX-License-Identifier: Apache-2.0
//
// What users are told who expect of this cluster what only nodes and controllers do. It goes out as warnings beside the
// answers that kube-apiserver gives, so that clients which compare those see no difference.

/** In every piece of advice, so that it can be told from the warnings of a real kube-apiserver. */
export const IN_THIS_CLUSTER = "in this cluster"

export const noLogs = `no node runs Pods ${IN_THIS_CLUSTER}, so they have no logs; \`merlonctl logs\` shows what a workload of the local mesh has written`

export const noExec = `no node runs Pods ${IN_THIS_CLUSTER}, so there is nothing to reach into; \`merlonctl exec\` runs a program as a workload of the local mesh`
