// SPDX-License-Identifier: Apache-2.0

/** The described request is not a valid one; the message gives the reason in the user's terms. */
export class RequestDescriptionError extends Error {}
