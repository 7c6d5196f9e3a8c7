// SPDX-License-Identifier: Apache-2.0
// The gRPC methods. Client and server import them from here, so that both use the same path.

import { type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf"
import {
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
  DiscoveryRequestSchema,
  DiscoveryResponseSchema,
} from "../generated/envoy/service/discovery/v3/discovery_pb.js"
import {
  InquirySchema,
  ObservationSchema,
  ReportRequestSchema,
  ReportResponseSchema,
  SignCertificateRequestSchema,
  SignCertificateResponseSchema,
} from "../generated/merlon/mesh/v1/mesh_pb.js"

export interface Method<Request, Response> {
  readonly path: string
  readonly requestSerialize: (message: Request) => Buffer
  readonly requestDeserialize: (bytes: Uint8Array) => Request
  readonly responseSerialize: (message: Response) => Buffer
  readonly responseDeserialize: (bytes: Uint8Array) => Response
}

const ADS = "/envoy.service.discovery.v3.AggregatedDiscoveryService"
const PROXY = "/merlon.mesh.v1.ProxyService"

function method<Request extends DescMessage, Response extends DescMessage>(
  path: string,
  request: Request,
  response: Response,
): Method<MessageShape<Request>, MessageShape<Response>> {
  return {
    path,
    requestSerialize: message => asBuffer(toBinary(request, message)),
    requestDeserialize: bytes => fromBinary(request, bytes),
    responseSerialize: message => asBuffer(toBinary(response, message)),
    responseDeserialize: bytes => fromBinary(response, bytes),
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

export const deltaAggregatedResources = method(
  `${ADS}/DeltaAggregatedResources`,
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
)

export const streamAggregatedResources = method(
  `${ADS}/StreamAggregatedResources`,
  DiscoveryRequestSchema,
  DiscoveryResponseSchema,
)

export const signCertificate = method(
  `${PROXY}/SignCertificate`,
  SignCertificateRequestSchema,
  SignCertificateResponseSchema,
)

export const observe = method(`${PROXY}/Observe`, ObservationSchema, InquirySchema)

export const report = method(`${PROXY}/Report`, ReportRequestSchema, ReportResponseSchema)
