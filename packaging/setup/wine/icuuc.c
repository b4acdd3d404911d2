/* icuuc.dll, which Wine 8 lacks: Qt6Core links to it, and uses it for text codecs that it does not have itself.
   Opening a converter fails with U_FILE_ACCESS_ERROR (4), so that no other function is called with a converter. */

__declspec(dllexport) void *ucnv_open(const char *name, int *error)
{
    (void)name;
    if (error)
        *error = 4;
    return 0;
}

#define RETURNS_ZERO(name) __declspec(dllexport) long long name(void) { return 0; }

RETURNS_ZERO(ucnv_close)
RETURNS_ZERO(ucnv_reset)
RETURNS_ZERO(ucnv_getName)
RETURNS_ZERO(ucnv_getMaxCharSize)
RETURNS_ZERO(ucnv_getToUCallBack)
RETURNS_ZERO(ucnv_setToUCallBack)
RETURNS_ZERO(ucnv_getFromUCallBack)
RETURNS_ZERO(ucnv_setFromUCallBack)
RETURNS_ZERO(ucnv_cbToUWriteUChars)
RETURNS_ZERO(ucnv_cbFromUWriteUChars)
RETURNS_ZERO(ucnv_toUnicode)
RETURNS_ZERO(ucnv_fromUnicode)
RETURNS_ZERO(ucnv_toUCountPending)
RETURNS_ZERO(ucnv_fromUCountPending)
RETURNS_ZERO(ucnv_getStandardName)
RETURNS_ZERO(ucnv_getAvailableName)
RETURNS_ZERO(ucnv_countAvailable)
