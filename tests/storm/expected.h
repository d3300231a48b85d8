/*
 * expected.h - which sequences of bad days today's ledger does not live through.
 *
 * Each is a named test that fails (test_sequences.c), and is known to.  One that
 * begins to pass says so loudly: then its row goes.  At the end there is none.
 */
#ifndef STORM_EXPECTED_H
#define STORM_EXPECTED_H

/*   number of the sequence, name of the test */
#define EXPECTED_TO_FAIL(X) /* none */

#endif
