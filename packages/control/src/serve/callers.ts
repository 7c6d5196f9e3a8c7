// SPDX-License-Identifier: Apache-2.0
// Who a caller is: what the API server says of its token, or what its certificate says once its chain was found good.

import type { MeshConfig } from "@merlon/policy"
import type { Caller, PeerCertificate } from "@merlon/xds"
import type { KubernetesClient } from "../kubernetes/client.js"
import { type KubernetesObject, TOKEN_REVIEWS } from "../kubernetes/resource-type.js"
import { listOf, objectOf, textOf } from "../registry/foreign.js"
import { invitationAudience, invitationDigest } from "./invitations.js"

const USER = /^system:serviceaccount:([^:]+):([^:]+)$/
const POD_NAME = "authentication.kubernetes.io/pod-name"

/** Undefined for a token that is not good, or was made for somebody else than us. */
export async function callerOfToken(
  client: KubernetesClient,
  { names, trustDomain }: MeshConfig,
  token: string,
): Promise<Caller | undefined> {
  const review = await client.create<KubernetesObject>(TOKEN_REVIEWS, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenReview",
    metadata: { name: "" },
    spec: { token, audiences: [names.tokenAudience, invitationAudience(names)] },
  })
  const { authenticated, user, audiences } = objectOf(review.status)
  // Fail closed: a server that knows no audiences says none, and then the token may have been made for anybody.
  const accepted = listOf(audiences)
  const isInvitation = !accepted.includes(names.tokenAudience) && accepted.includes(invitationAudience(names))
  if (authenticated !== true || (!isInvitation && !accepted.includes(names.tokenAudience))) return undefined
  const { username, extra } = objectOf(user)
  const [, namespace, serviceAccount] = USER.exec(textOf(username) ?? "") ?? []
  if (namespace === undefined || serviceAccount === undefined) return undefined
  const pod = textOf(listOf(objectOf(extra)[POD_NAME])[0])
  return {
    trustDomain,
    namespace,
    serviceAccount,
    proof: "token",
    ...(pod === undefined ? {} : { pod }),
    ...(isInvitation ? { invitation: invitationDigest(token) } : {}),
  }
}

export function callerOfCertificate({ id, serial }: PeerCertificate): Caller | undefined {
  const { trustDomain, namespace, serviceAccount } = id
  if (namespace === undefined || serviceAccount === undefined) return undefined
  return { trustDomain, namespace, serviceAccount, proof: "certificate", serial }
}
