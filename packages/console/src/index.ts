// SPDX-License-Identifier: Apache-2.0
// The web console: a server that keeps the sessions of users and forwards their requests to the API with their own
// permissions, and the page it serves.

export type { Assets } from "./server/assets.js"
export { builtPage } from "./server/built-page.js"
export { type Console, type ConsoleOptions, startConsole } from "./server/console.js"
export type { ApiAnswer, ApiExchange, ApiRequest } from "./server/exchange.js"
export type { OidcOptions } from "./server/oidc-issuer.js"
export type { SignIn } from "./server/sign-in.js"
