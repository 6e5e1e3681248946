// SPDX-License-Identifier: Apache-2.0
//! Model of the unit (being filled in).
