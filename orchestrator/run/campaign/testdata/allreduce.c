/* An all-reduce of a vector over all ranks, some times, that checks the result:
 * rank r gives r + i for element i. Prints one line at rank 0. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ELEMENTS = 20000, ROUNDS = 5 };

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	int rank, size;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	long *in = malloc(ELEMENTS * sizeof *in), *out = malloc(ELEMENTS * sizeof *out);
	long wrong = 0, all = 0;
	for (int round = 0; round < ROUNDS; round++) {
		for (long i = 0; i < ELEMENTS; i++)
			in[i] = rank + i + round;
		MPI_Allreduce(in, out, ELEMENTS, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
		for (long i = 0; i < ELEMENTS; i++)
			wrong += out[i] != (long)size * (size - 1) / 2 + size * (i + round);
	}
	MPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0)
		printf("%d ranks, %d rounds, %ld wrong elements\n", size, ROUNDS, all);
	MPI_Finalize();
	return all != 0;
}
