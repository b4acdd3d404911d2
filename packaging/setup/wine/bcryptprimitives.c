/* bcryptprimitives.dll, which Wine 8 lacks: the random numbers of every package that is written in Rust. */
#include <windows.h>

/* RtlGenRandom of advapi32 under its export name. */
BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG size);

__declspec(dllexport) BOOL WINAPI ProcessPrng(BYTE *buffer, SIZE_T size)
{
    return SystemFunction036(buffer, (ULONG)size);
}
