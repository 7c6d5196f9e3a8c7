// SPDX-License-Identifier: Apache-2.0
// Unary calls, each on its own channel.

import { create } from "@bufbuild/protobuf"
import { ReportRequestSchema, SignCertificateRequestSchema } from "../generated/merlon/mesh/v1/mesh_pb.js"
import { report, signCertificate } from "../wire/methods.js"
import { type ChannelOptions, callOnce } from "./channel.js"

export interface CertificateAnswer {
  /** PEM, leaf first, without the root. */
  readonly certificateChain: string
  readonly trustBundle: string
}

export async function signOnce(
  options: ChannelOptions,
  {
    request,
    ttlSeconds,
    nodeId,
  }: { readonly request: Uint8Array; readonly ttlSeconds: number; readonly nodeId: string },
): Promise<CertificateAnswer> {
  const message = create(SignCertificateRequestSchema, { signingRequest: request, ttlSeconds, nodeId })
  const { certificateChain, trustBundle } = await callOnce(options, signCertificate, message)
  return { certificateChain, trustBundle }
}

export async function reportOnce(
  options: ChannelOptions,
  { unknownKeys, nodeId }: { readonly unknownKeys: readonly string[]; readonly nodeId: string },
): Promise<void> {
  await callOnce(options, report, create(ReportRequestSchema, { nodeId, unknownKeys: [...unknownKeys] }))
}
