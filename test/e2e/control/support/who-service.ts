// SPDX-License-Identifier: Apache-2.0
// A minimal gRPC service: it answers with its name.

import {
  type Client,
  makeGenericClientConstructor,
  Server,
  type ServerCredentials,
  type ServiceDefinition,
} from "@grpc/grpc-js"

const toBytes = (text: string): Buffer => Buffer.from(text)
const toText = (bytes: Buffer): string => bytes.toString()

export const ASK = "/test.Who/Ask"
export const encodeText = toBytes
export const decodeText = toText

const SERVICE: ServiceDefinition = {
  ask: {
    path: ASK,
    requestStream: false,
    responseStream: false,
    requestSerialize: toBytes,
    requestDeserialize: toText,
    responseSerialize: toBytes,
    responseDeserialize: toText,
  },
}

export const WhoClient: new (...options: ConstructorParameters<typeof Client>) => Client = makeGenericClientConstructor(
  SERVICE,
  "Who",
)

export interface WhoServer {
  readonly port: number
  close(): void
}

export async function startWho(name: string, credentials: ServerCredentials): Promise<WhoServer> {
  const server = new Server()
  server.addService(SERVICE, {
    ask: (_: unknown, respond: (error: null, text: string) => void) => respond(null, name),
  })
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", credentials, (error, bound) => (error === null ? resolve(bound) : reject(error)))
  })
  return { port, close: () => server.forceShutdown() }
}
