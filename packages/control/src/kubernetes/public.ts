// SPDX-License-Identifier: Apache-2.0
// What other packages may use of the Kubernetes API client.

export { type ConnectionCode, isNoAnswerCode, type NoAnswerCode } from "../errors.js"
export { statusError } from "./api-failure.js"
export { ApiError } from "./client.js"
export { type Connection, ConnectionError } from "./connection.js"
export { connectionFrom } from "./connection-from.js"
export { type HttpKubernetesClient, httpClient } from "./http-client.js"
export { inClusterConnection } from "./in-cluster.js"
export { passingApi, withToken } from "./passing.js"
export { isPathSegment, type Place, type Query, resourcePath } from "./resource-path.js"
export * from "./resource-type.js"
export { SYSTEM_TIME } from "./time.js"
export { type Api, type ApiRequest, Transport } from "./transport.js"
