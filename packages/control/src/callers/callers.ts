// SPDX-License-Identifier: Apache-2.0
// Identifies a caller by the API server's review of its token, or by its certificate once the chain is verified.

import type { MeshConfig } from "@merlon/policy/mesh"
import type { Caller, PeerCertificate } from "@merlon/xds/server"
import type { KubernetesClient } from "../kubernetes/client.js"
import { type KubernetesObject, TOKEN_REVIEWS } from "../kubernetes/resource-type.js"
import { listOf, objectOf, textOf } from "../registry/foreign.js"
import { invitationAudience, invitationDigest } from "./invitations.js"

const USER = /^system:serviceaccount:([^:]+):([^:]+)$/
const POD_NAME = "authentication.kubernetes.io/pod-name"
const POD_UID = "authentication.kubernetes.io/pod-uid"

/** Undefined if the token is invalid or has another audience. */
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
  // Fail closed: an API server that does not know audiences returns none, and then the token may be for any service.
  const accepted = listOf(audiences)
  const isInvitation = !accepted.includes(names.tokenAudience) && accepted.includes(invitationAudience(names))
  if (authenticated !== true || (!isInvitation && !accepted.includes(names.tokenAudience))) return undefined
  const { username, extra } = objectOf(user)
  const [, namespace, serviceAccount] = USER.exec(textOf(username) ?? "") ?? []
  if (namespace === undefined || serviceAccount === undefined) return undefined
  const [pod, podUid] = [POD_NAME, POD_UID].map(key => textOf(listOf(objectOf(extra)[key])[0]))
  const expiresAt = expiryOf(token)
  return {
    trustDomain,
    namespace,
    serviceAccount,
    proof: "token",
    ...(pod === undefined ? {} : { pod }),
    ...(isInvitation ? { invitation: invitationDigest(token) } : {}),
    ...(podUid === undefined ? {} : { podUid }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  }
}

/** A review does not contain the expiry. The API server has accepted the token, so its own claims are true. */
function expiryOf(token: string): number | undefined {
  try {
    const { exp } = objectOf(JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8")))
    return typeof exp === "number" && Number.isFinite(exp) ? exp * 1_000 : undefined
  } catch {
    // The token has no readable expiry, so it is reviewed again when the caller returns.
    return undefined
  }
}

export function callerOfCertificate({ id, serial, pod }: PeerCertificate): Caller | undefined {
  const { trustDomain, namespace, serviceAccount } = id
  if (namespace === undefined || serviceAccount === undefined) return undefined
  const bound = pod === undefined ? {} : { pod: pod.name, podUid: pod.uid }
  return { trustDomain, namespace, serviceAccount, proof: "certificate", serial, ...bound }
}
