// SPDX-License-Identifier: Apache-2.0
// Authorizes streams. A member of the mesh may request routes. Only a workload itself may see what it enforces. It
// proves that with the Pod to which its token or certificate is bound, because several workloads can share a service
// account.

import { canonicalSerial } from "@merlon/identity"
import type { MeshConfig } from "@merlon/policy/mesh"
import { parseSpiffeId } from "@merlon/policy/request"
import type { Caller, ClientNode, Rejection } from "@merlon/xds/server"
import type { TrustSource } from "../authority/trust-source.js"
import type { MeshDirectory } from "../registry/mesh-directory.js"
import type { MeshWorkload } from "../registry/mesh-workload.js"

export interface StreamAuthorizerOptions {
  readonly mesh: MeshConfig
  readonly directory: MeshDirectory
  readonly trust: TrustSource
}

const NODE_ID = /^([a-z0-9][-a-z0-9]{0,62})\/([a-z0-9][-a-z0-9.]{0,252})$/

export class StreamAuthorizer {
  readonly #options: StreamAuthorizerOptions

  constructor(options: StreamAuthorizerOptions) {
    this.#options = options
  }

  /** Whether the caller is currently a member of the mesh. A caller with an invitation is not a member yet. */
  rejectMember(caller: Caller): Rejection | undefined {
    if (caller.invitation !== undefined) {
      return denied("an invitation can only be exchanged for a certificate; use `merlonctl join`")
    }
    return this.rejectIdentity(caller)
  }

  /** Whether the caller's identity may have a certificate. */
  rejectIdentity(caller: Caller): Rejection | undefined {
    const { mesh, trust } = this.#options
    const { trustDomain, namespace, serviceAccount } = caller
    if (trustDomain !== mesh.trustDomain) {
      return denied(`the trust domain \`${trustDomain}\` is not \`${mesh.trustDomain}\`, the trust domain of this mesh`)
    }
    const identity = parseSpiffeId(`spiffe://${trustDomain}/ns/${namespace}/sa/${serviceAccount}`)
    // Fail closed: a caller without an identity could not be revoked either.
    if (identity === undefined) return denied("the caller has no identity in the mesh")
    const { revokedIdentities, revokedSerials } = trust.current
    if (revokedIdentities.includes(identity.uri)) return denied(`the identity \`${identity.uri}\` is revoked`)
    return rejectCertificate(caller, revokedSerials)
  }

  /** Whether the caller may see what the workload enforces that the node names. */
  rejectWorkload(caller: Caller, node: ClientNode): Rejection | undefined {
    return this.rejectNode(caller, node) ?? this.rejectPod(caller, node)
  }

  /** Whether the caller has proven to be the node; only a change of trust can change the result. */
  rejectNode(caller: Caller, { id }: ClientNode): Rejection | undefined {
    const member = this.rejectMember(caller)
    if (member !== undefined) return member
    const [, namespace, name] = NODE_ID.exec(id) ?? []
    if (namespace === undefined || name === undefined) {
      return denied("the node id is not `namespace/pod`; use the Pod of the proxy")
    }
    if (namespace !== caller.namespace) {
      return denied(
        `the caller is in the namespace \`${caller.namespace}\` and may not read the configuration of \`${id}\``,
      )
    }
    // Fail closed: otherwise a process with the service account could read the policies of any Pod of that account.
    if (caller.pod === undefined) {
      return denied(`the ${caller.proof} is not bound to a Pod; send a token that is bound to \`${id}\``)
    }
    if (caller.pod !== name) {
      return denied(
        `the ${caller.proof} is bound to the Pod \`${caller.pod}\` and may not read the configuration of \`${id}\``,
      )
    }
    return undefined
  }

  /** Whether the Pod of that name is the caller's, and has a proxy. */
  rejectPod(caller: Caller, { id }: ClientNode): Rejection | undefined {
    const { serviceAccount, proof } = caller
    const workload = this.#options.directory.workloads.get(id)
    if (workload === undefined) {
      return { code: "UNAVAILABLE", message: `the Pod \`${id}\` is not known yet; retry` }
    }
    // The caller's Pod may be older or newer than the one we know, because our copy may be out of date.
    if (!isOf(caller, workload)) {
      return { code: "UNAVAILABLE", message: `the ${proof} belongs to another Pod \`${id}\` than the known one; retry` }
    }
    if (workload.serviceAccount !== serviceAccount) {
      return denied(`the Pod \`${id}\` does not use the service account \`${serviceAccount}\``)
    }
    if (!workload.proxied) {
      return denied(`the Pod \`${id}\` has no xserver according to its manifest; inject one or declare the workload`)
    }
    return undefined
  }

  /** Whether the caller's Pod has been replaced by another Pod of the same name. */
  isReplaced(caller: Caller, { id }: ClientNode): boolean {
    const workload = this.#options.directory.workloads.get(id)
    return workload !== undefined && !isOf(caller, workload)
  }

  /** Not used for new connections, whose Pod may be newer than our copy. The token of a deleted Pod proves nothing. */
  rejectGone(caller: Caller): Rejection | undefined {
    const { namespace, pod } = caller
    if (pod === undefined) return undefined
    const workload = this.#options.directory.workloads.get(`${namespace}/${pod}`)
    return workload !== undefined && isOf(caller, workload)
      ? undefined
      : denied(`the Pod \`${namespace}/${pod}\` is gone`)
  }

  /**
   * A certificate renews another one only while a workload runs under its identity. Otherwise the former holder of a
   * key could renew the identity of a deleted workload or account forever.
   */
  rejectRenewal(caller: Caller): Rejection | undefined {
    const { proof, namespace, serviceAccount, pod } = caller
    if (proof !== "certificate") return undefined
    if (pod !== undefined) return this.rejectGone(caller)
    for (const workload of this.#options.directory.select({}, namespace)) {
      if (workload.serviceAccount === serviceAccount) return undefined
    }
    return denied(`no Pod uses the service account \`${namespace}/${serviceAccount}\`; send a service-account token`)
  }
}

/** A new Pod may have the name of a deleted one, so the uid decides. */
function isOf({ podUid }: Caller, { uid }: MeshWorkload): boolean {
  return podUid === undefined || podUid === uid
}

function rejectCertificate({ proof, serial }: Caller, revoked: readonly string[]): Rejection | undefined {
  if (proof !== "certificate") return undefined
  // Fail closed: a certificate without a known serial number cannot be checked against the list.
  if (serial === undefined) return denied("the certificate has no serial number to check for revocation")
  const canonical = canonicalSerial(serial)
  return revoked.includes(canonical) ? denied(`the certificate ${canonical} is revoked`) : undefined
}

function denied(message: string): Rejection {
  return { code: "PERMISSION_DENIED", message }
}
