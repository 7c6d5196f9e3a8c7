// SPDX-License-Identifier: Apache-2.0
// A gRPC channel to the control plane with the trust bundle and the proof of this moment. Channels are not kept: each
// stream and each call makes its own, so that a rotated root or certificate counts from the next one on.

import { createSecureContext } from "node:tls"
import { ChannelCredentials, Client, Metadata, type MethodDefinition, type ServiceError, status } from "@grpc/grpc-js"
import { TLS_FLOOR } from "@merlon/identity"
import { type Log, messageOf } from "../log.js"
import { MeshCallError } from "./call-error.js"
import type { ClientLimits, Proof } from "./options.js"

export interface ChannelOptions {
  readonly address: string
  readonly serverName: string
  readonly trustBundle: () => string
  readonly proof: () => Proof
  readonly limits: ClientLimits
  readonly log: Log
}

export interface Channel {
  readonly client: Client
  readonly metadata: Metadata
}

/** Throws where bundle or proof cannot be used. */
export function openChannel(options: ChannelOptions): Channel {
  const { address, serverName, limits } = options
  const proof = options.proof()
  const metadata = new Metadata()
  if (proof.token !== undefined) metadata.set("authorization", `Bearer ${proof.token.trim()}`)
  const client = new Client(address, credentials(options, proof), {
    "grpc.ssl_target_name_override": serverName,
    "grpc.default_authority": serverName,
    // Or channels with equal certificates would share one connection, and the old one would live on.
    "grpc.use_local_subchannel_pool": 1,
    // The control plane is reached directly, whatever proxy the application's environment names.
    "grpc.enable_http_proxy": 0,
    "grpc.service_config_disable_resolution": 1,
    "grpc.enable_retries": 0,
    "grpc.enable_channelz": 0,
    "grpc.keepalive_time_ms": limits.pingEveryMs,
    "grpc.keepalive_timeout_ms": limits.pingTimeoutMs,
    "grpc.max_receive_message_length": limits.messageBytes,
  })
  return { client, metadata }
}

function credentials({ trustBundle, log }: ChannelOptions, { token, certificate }: Proof): ChannelCredentials {
  const bundle = trustBundle()
  // Fails closed: without roots of the mesh, gRPC would trust the public ones.
  if (bundle.trim() === "") throw new Error("there is no trust bundle to know the control plane by")
  if (certificate === undefined) return secured(bundle)
  const { chain, privateKey } = certificate
  try {
    return secured(bundle, { key: privateKey, cert: chain })
  } catch (error) {
    if (token === undefined) throw error
    log.warn({ error: messageOf(error) }, "the certificate cannot be used; going by the token alone")
    return secured(bundle)
  }
}

function secured(ca: string, own: { readonly key?: string; readonly cert?: string } = {}): ChannelCredentials {
  return ChannelCredentials.createFromSecureContext(createSecureContext({ ...TLS_FLOOR, ...own, ca }))
}

export async function callOnce<Request, Response>(
  options: ChannelOptions,
  { path, requestSerialize, responseDeserialize }: MethodDefinition<Request, Response>,
  request: Request,
): Promise<Response> {
  const { client, metadata } = openChannel(options)
  try {
    return await new Promise<Response>((resolve, reject) => {
      const deadline = Date.now() + options.limits.callMs
      const done = (error: ServiceError | null, response?: Response) => {
        if (error !== null) reject(MeshCallError.of(status[error.code], error.details))
        else if (response === undefined) reject(new MeshCallError("INTERNAL", "the answer is empty"))
        else resolve(response)
      }
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, metadata, { deadline }, done)
    })
  } finally {
    client.close()
  }
}
