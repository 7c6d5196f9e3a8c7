#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// The sample `web`: two versions of it run side by side, and traffic is split between them.

import { greeting } from "./greeting.js"
import { serve } from "./serve.js"

await serve("web", ({ version }) => greeting(version))
