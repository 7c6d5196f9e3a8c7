#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// The sample `issuer`: publishes the key set of samples/keys, as an identity provider does. It signs no tokens;
// `merlonctl jwt mint` does.

import { readFileSync } from "node:fs"
import { published } from "./key-set.js"
import { serve } from "./serve.js"

const KEYS = new URL("../keys/jwks.json", import.meta.url)

await serve("issuer", () => published(readFileSync(process.env.JWKS ?? KEYS, "utf8")), {
  host: "127.0.0.1",
  port: "8090",
})
