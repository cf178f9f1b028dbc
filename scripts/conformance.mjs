// The official conformance suite against our fixtures.
import { notYet } from './not-yet.mjs'

notYet('npm run conformance', 3)
