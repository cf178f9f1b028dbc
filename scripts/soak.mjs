// Steady load; what grows is a fault.
import { notYet } from './not-yet.mjs'

notYet('npm run soak', 11)
