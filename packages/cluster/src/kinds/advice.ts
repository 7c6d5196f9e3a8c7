// SPDX-License-Identifier: Apache-2.0
// Warnings for users who expect this cluster to do what only nodes and controllers do. They are sent with the same
// responses as kube-apiserver's, so that clients which compare responses see no difference.

/** Part of every such warning, to tell it from the warnings of a real kube-apiserver. */
export const IN_THIS_CLUSTER = "in this cluster"

export const noLogs = `no node runs Pods ${IN_THIS_CLUSTER}, so they have no logs; \`merlonctl logs\` shows what a workload of the local mesh has written`

export const noExec = `no node runs Pods ${IN_THIS_CLUSTER}, so there is no container to connect to; \`merlonctl exec\` runs a program as a workload of the local mesh`
