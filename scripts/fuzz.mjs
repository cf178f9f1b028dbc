// Random requests over real sockets, in both eras.
import { notYet } from './not-yet.mjs'

notYet('npm run fuzz', 9)
