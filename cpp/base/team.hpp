// Threads that wait for work between calls: starting one costs as much as a round of dual steps.
#pragma once

namespace casimir {

/// Calls call(context, k) for k = 0 .. workers - 1, on so many threads, this one among them, and waits for all. A share
/// whose thread has not begun is taken by one that is done.
/// False, with nothing called, if the threads are at work for somebody else, or there cannot be so many. `call` does
/// not throw.
bool run_on_team(int workers, void (*call)(void* context, int worker), void* context);

}  // namespace casimir
