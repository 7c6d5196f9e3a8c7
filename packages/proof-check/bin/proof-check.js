#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
import "../dist/main.js"
