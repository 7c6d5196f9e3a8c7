// SPDX-License-Identifier: Apache-2.0
// A misbehaving gRPC client: sends what the test says and records everything it receives.

import { create, type MessageInitShape } from "@bufbuild/protobuf"
import {
  ChannelCredentials,
  Client,
  type ClientReadableStream,
  Metadata,
  type ServiceError,
  status,
} from "@grpc/grpc-js"
import { vi } from "vitest"
import {
  DeltaDiscoveryRequestSchema,
  type DeltaDiscoveryResponse,
  DiscoveryRequestSchema,
  type DiscoveryResponse,
} from "../generated/envoy/service/discovery/v3/discovery_pb.js"
import { type Inquiry, ObservationSchema } from "../generated/merlon/mesh/v1/mesh_pb.js"
import { deltaAggregatedResources, type Method, observe, streamAggregatedResources } from "../wire/methods.js"
import { SERVER_NAME, type TestCredentials } from "./test-authority.js"

export interface RawOptions {
  readonly address: string
  readonly bundle: string
  readonly serverName?: string
  readonly token?: string
  readonly credentials?: Pick<TestCredentials, "chain" | "privateKey">
}

export class RawClient {
  readonly client: Client
  readonly metadata = new Metadata()

  constructor({ address, bundle, serverName = SERVER_NAME, token, credentials }: RawOptions) {
    const channelCredentials =
      credentials === undefined
        ? ChannelCredentials.createSsl(Buffer.from(bundle))
        : ChannelCredentials.createSsl(
            Buffer.from(bundle),
            Buffer.from(credentials.privateKey),
            Buffer.from(credentials.chain),
          )
    this.client = new Client(address, channelCredentials, {
      "grpc.ssl_target_name_override": serverName,
      "grpc.use_local_subchannel_pool": 1,
    })
    if (token !== undefined) this.metadata.set("authorization", `Bearer ${token}`)
  }

  delta() {
    const { path, requestSerialize, responseDeserialize } = deltaAggregatedResources
    const call = this.client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, this.metadata)
    const stream = received<DeltaDiscoveryResponse>(call)
    const send = (request: MessageInitShape<typeof DeltaDiscoveryRequestSchema>) =>
      void call.write(create(DeltaDiscoveryRequestSchema, request))
    return Object.assign(stream, { call, send })
  }

  sotw() {
    const { path, requestSerialize, responseDeserialize } = streamAggregatedResources
    const call = this.client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, this.metadata)
    const stream = received<DiscoveryResponse>(call)
    const send = (request: MessageInitShape<typeof DiscoveryRequestSchema>) =>
      void call.write(create(DiscoveryRequestSchema, request))
    return Object.assign(stream, { call, send })
  }

  observe() {
    const { path, requestSerialize, responseDeserialize } = observe
    const call = this.client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, this.metadata)
    const send = (observation: MessageInitShape<typeof ObservationSchema>) =>
      void call.write(create(ObservationSchema, observation))
    return Object.assign(received<Inquiry>(call), { call, send })
  }

  unary<Request, Response>(method: Method<Request, Response>, request: Request): Promise<Response> {
    const { path, requestSerialize, responseDeserialize } = method
    return new Promise((resolve, reject) => {
      const done = (error: ServiceError | null, response?: Response) => {
        if (error !== null || response === undefined) reject(new Error(endOf(error)))
        else resolve(response)
      }
      this.client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, this.metadata, done)
    })
  }
}

function received<Response>(call: ClientReadableStream<Response>) {
  const responses: Response[] = []
  let end: string | undefined
  call.on("data", (response: Response) => void responses.push(response))
  call.on("error", (error: ServiceError) => {
    end ??= endOf(error)
  })
  call.on("end", () => {
    end ??= "OK"
  })
  return {
    responses,
    /** The response with that index, once it has arrived. */
    async response(index: number): Promise<Response> {
      return vi.waitFor(
        () => {
          const response = responses[index]
          if (response === undefined) throw new Error(`no response ${index}; the stream is ${end ?? "open"}`)
          return response
        },
        { timeout: 90_000, interval: 5 },
      )
    },
    /** `CODE: details` once the stream has ended. */
    async ended(): Promise<string> {
      return vi.waitFor(
        () => {
          if (end === undefined) throw new Error("the stream is open")
          return end
        },
        { timeout: 90_000, interval: 5 },
      )
    },
    get end() {
      return end
    },
  }
}

function endOf(error: ServiceError | null): string {
  return error === null ? "no answer" : `${status[error.code]}: ${error.details}`
}
