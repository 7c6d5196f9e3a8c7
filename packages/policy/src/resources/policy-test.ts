// SPDX-License-Identifier: Apache-2.0
// Distinguishes policy tests from policies, since both may be in one file.

import { isObject } from "./field.js"

const TEST_KIND = "PolicyTest"

export const isPolicyTest = (value: unknown): boolean => isObject(value) && value.kind === TEST_KIND
